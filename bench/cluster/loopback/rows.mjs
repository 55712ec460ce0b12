// Real servers, real sockets, real time: nothing is proved here, but the sign must be the same.
const contenders = ['recovery q/n, out 1 s', 'no recovery, out 1 s', 'plain round robin']

export const loopbackRows = contenders.map((contender) => ({ name: `loopback, all out: ${contender}`, contender }))

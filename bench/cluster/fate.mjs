// How a call at an endpoint ended, for all clients alike: `verdict` and `ran` are what floodwall asks for, the
// others only see whether it was answered.

export const ANSWERED = Object.freeze({ ok: true, verdict: 'success', ran: true })
export const FAILED = Object.freeze({ ok: false, verdict: 'failure', ran: true })
export const TIMED_OUT = Object.freeze({ ok: false, verdict: 'timeout', ran: true })
/** The connection was refused: nothing was sent. */
export const UNREACHABLE = Object.freeze({ ok: false, verdict: 'failure', ran: false })
/** Not sent at all, the client itself said no. */
export const REFUSED = Object.freeze({ ok: false, verdict: 'ignored', ran: false })

/** A client gives up after this, in all studies. */
export const TIMEOUT_MS = 250

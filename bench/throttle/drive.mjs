// Calls at random times (a Poisson process) at a target behind a contender, in closed loop: each answer comes 20 ms later, and what is heard
// decides what is sent. All contenders meet the same calls. Answers come in the order of the calls, so there is a line of them and no timer.

const ROUND_TRIP_MS = 20
const MOST_LANDED = 4096

export function drive(contender, seeded, { perSecond, untilMs, seed, target, seen }) {
  const gaps = seeded(seed * 104_729)
  const dice = seeded(seed * 1_299_709)
  const flying = []
  let landed = 0
  for (let now = 0; now < untilMs; now -= (Math.log(1 - gaps()) * 1000) / perSecond) {
    for (; landed < flying.length && flying[landed].at <= now; landed++) {
      const { handle, verdict, at } = flying[landed]
      contender.end(handle, verdict, at)
    }
    if (landed > MOST_LANDED) {
      flying.splice(0, landed)
      landed = 0
    }
    const handle = contender.begin(now)
    const verdict = handle === undefined ? undefined : target(now, dice)
    seen(now, verdict)
    if (verdict !== undefined) flying.push({ at: now + ROUND_TRIP_MS, handle, verdict })
  }
}

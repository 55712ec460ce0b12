/**
 * The window in which `now` lies: 0 begins at `origin`, each lasts `windowMs`. An edge belongs to the window that it begins, also where the
 * division is a hair off.
 */
export function windowIndex(now: number, origin: number, windowMs: number): number {
  const index = Math.floor((now - origin) / windowMs)
  if (origin + (index + 1) * windowMs <= now) return index + 1
  return origin + index * windowMs > now ? index - 1 : index
}

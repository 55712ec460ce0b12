// How large a part is it, as a number and as people read it?
//
// 12 of 20: 0.6, `60 %`. 0 of 0: 0, never NaN.

export function shareOf(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole
}

export function percent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`
}

// Two targets that mean the same, as one.

/**
 * Origin-form, dots resolved, what needs no escape not escaped.
 *
 * @param {string} target
 */
export function canonical(target) {
  const rest = target.replace(/^https?:\/\/[^/?#]*/i, '')
  const mark = rest.indexOf('?')
  const path = mark < 0 ? rest : rest.slice(0, mark)
  const plain = path.replace(/%([0-9a-f]{2})/gi, (whole, hex) => {
    const one = String.fromCharCode(Number.parseInt(hex, 16))
    return /[\w.~-]/.test(one) ? one : whole.toUpperCase()
  })
  /** @type {string[]} */
  const kept = []
  const segments = plain.split('/')
  segments.forEach((segment, i) => {
    const lastOne = i === segments.length - 1
    if (segment === '..') {
      if (kept.length > 1) kept.pop()
      if (lastOne) kept.push('')
    } else if (segment !== '.') kept.push(segment)
    else if (lastOne) kept.push('')
  })
  return (kept.join('/') || '/') + (mark < 0 ? '' : rest.slice(mark))
}

/**
 * The number of the case that a piece of text is from; undefined where the changes have spoilt it.
 *
 * @param {number} seed
 * @param {string} text
 */
export function caseIn(seed, text) {
  const [, own, number] = /(?:\/f\/|\/poison\/|x-fuzz: ?)(\d+)-(\d+)-\d/i.exec(text) ?? []
  return Number(own) === seed ? Number(number) : undefined
}

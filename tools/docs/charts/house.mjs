import { arrow, colour, line, rect, svg, text } from '../svg.mjs'

/**
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 * @param {string} fill
 * @param {import('../svg.mjs').Attributes} [attributes]
 */
function box(x, y, width, height, fill, attributes = {}) {
  return rect(x, y, width, height, {
    rx: 8,
    fill,
    'fill-opacity': 0.1,
    stroke: fill,
    'stroke-width': 1.5,
    ...attributes,
  })
}

/** Where floodwall stands: before a service, and before each thing that the service calls. */
export function bothSides() {
  const wall = (
    /** @type {number} */ x,
    /** @type {number} */ y,
    /** @type {number} */ height,
    /** @type {readonly string[]} */ layers,
  ) => [
    box(x, y, 128, height, colour.blue),
    ...layers.map((layer, i) =>
      text(x + 64, y + 26 + i * 18, layer, { anchor: 'middle', mono: true, size: 11.5, fill: colour.blue }),
    ),
  ]
  const thing = (
    /** @type {number} */ x,
    /** @type {number} */ y,
    /** @type {number} */ width,
    /** @type {string} */ name,
    /** @type {string} */ sub,
  ) => [
    box(x, y, width, 54, colour.ink),
    text(x + width / 2, y + 24, name, { anchor: 'middle', bold: true, size: 13 }),
    text(x + width / 2, y + 42, sub, { anchor: 'middle', size: 11 }),
  ]
  return svg(760, 268, 'floodwall stands before a service and before each of its dependencies', [
    ...thing(10, 106, 96, 'callers', 'too many'),
    ...wall(150, 84, 98, ['rateLimit', 'keyed', 'queue', 'bulkhead']),
    ...thing(322, 106, 116, 'your service', 'stays available'),
    ...wall(482, 18, 98, ['deadline', 'retry', 'breaker', 'timeout']),
    ...wall(482, 150, 98, ['deadline', 'balance', 'bulkhead', 'timeout']),
    ...thing(654, 40, 96, 'database', 'slow'),
    ...thing(654, 172, 96, 'partner', 'broken'),
    arrow([
      [106, 127],
      [148, 127],
    ]),
    arrow([
      [106, 133],
      [148, 133],
    ]),
    arrow([
      [106, 139],
      [148, 139],
    ]),
    arrow([
      [278, 133],
      [320, 133],
    ]),
    arrow([
      [438, 126],
      [460, 126],
      [460, 67],
      [480, 67],
    ]),
    arrow([
      [438, 140],
      [460, 140],
      [460, 199],
      [480, 199],
    ]),
    arrow([
      [610, 67],
      [652, 67],
    ]),
    arrow([
      [610, 199],
      [652, 199],
    ]),
    text(214, 202, 'what comes in', { anchor: 'middle', size: 11 }),
    text(546, 133, 'what goes out', { anchor: 'middle', size: 11 }),
  ])
}

/** The three ideas: a gate answers, a policy may wait, a pipeline composes. */
export function gatePolicyPipeline() {
  const column = (
    /** @type {number} */ x,
    /** @type {string} */ name,
    /** @type {string} */ what,
    /** @type {readonly string[]} */ code,
    /** @type {string} */ fill,
  ) => [
    box(x, 14, 224, 132, fill),
    text(x + 16, 40, name, { size: 15, bold: true, fill }),
    text(x + 16, 60, what, { size: 11.5 }),
    ...code.map((row, i) => text(x + 16, 86 + i * 18, row, { mono: true, size: 11 })),
  ]
  return svg(760, 160, 'Gate, policy, pipeline: the three ideas of floodwall', [
    ...column(
      8,
      'Gate',
      'yes or no, now, without waiting',
      ['tryAcquire(ask)', '→ Permit: settle | cancel', '→ Rejection: why, until when'],
      colour.green,
    ),
    ...column(
      268,
      'Policy',
      'may wait, repeat, replace',
      ['run(call, next, done)', 'answers once, never throws'],
      colour.violet,
    ),
    ...column(
      528,
      'Pipeline',
      'composes; promises at its edge',
      ['call(work): a promise', 'outcome(work): a value', 'start(work, done): callbacks'],
      colour.blue,
    ),
    arrow([
      [234, 80],
      [266, 80],
    ]),
    arrow([
      [494, 80],
      [526, 80],
    ]),
  ])
}

/** A permit and its two ends. */
export function twoEnds() {
  const word = (
    /** @type {number} */ x,
    /** @type {number} */ y,
    /** @type {string} */ name,
    /** @type {string} */ fill,
  ) => [box(x, y, 116, 36, fill), text(x + 58, y + 23, name, { anchor: 'middle', bold: true, fill, size: 13 })]
  return svg(760, 222, 'A gate gives a permit or a rejection; a permit ends by settle or by cancel', [
    ...word(10, 82, 'tryAcquire', colour.ink),
    ...word(230, 30, 'Permit', colour.green),
    ...word(230, 140, 'Rejection', colour.amber),
    ...word(450, 8, 'settle', colour.blue),
    ...word(450, 62, 'cancel', colour.violet),
    arrow([
      [126, 92],
      [170, 92],
      [170, 48],
      [228, 48],
    ]),
    text(162, 66, 'yes', { anchor: 'end', size: 11 }),
    arrow([
      [126, 108],
      [170, 108],
      [170, 158],
      [228, 158],
    ]),
    text(162, 144, 'no', { anchor: 'end', size: 11 }),
    arrow([
      [346, 42],
      [398, 42],
      [398, 26],
      [448, 26],
    ]),
    arrow([
      [346, 54],
      [398, 54],
      [398, 80],
      [448, 80],
    ]),
    text(578, 24, 'it ran: verdict and time', { size: 12 }),
    text(578, 39, 'are evidence', { size: 12 }),
    text(578, 78, 'nothing ran: the slot, the', { size: 12 }),
    text(578, 93, 'token, the probe go back', { size: 12 }),
    line(346, 158, 448, 158, { 'stroke-dasharray': '2 4' }),
    text(456, 155, 'nothing was taken, nothing ran;', { size: 12 }),
    text(456, 171, 'carries its gate, reason, numbers', { size: 12 }),
    text(230, 212, 'The first end counts. A second one, and one from an older generation, changes nothing.', {
      size: 11,
    }),
  ])
}

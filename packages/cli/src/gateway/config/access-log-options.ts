import { oneOf } from 'floodwall/rules'
import * as v from 'valibot'
import type { AccessLogSettings } from '../access/access-log.ts'
import { formats } from '../access/formats.ts'

/** `accessLog: { to: /var/log/floodwall/access.log }` */
export const accessLogOptions = v.pipe(
  v.strictObject({
    /** `stdout`, or the path of a file, which is added to. Default `stdout`. */
    to: v.optional(
      v.pipe(v.string('stdout or the path of a file'), v.minLength(1, 'stdout or the path of a file')),
      'stdout',
    ),
    /** `json`: one object a line. `combined`: as Apache and nginx write it. Default `json`. */
    format: v.optional(oneOf(...formats), 'json'),
    /** The query of what was asked for, too; people put secrets there. Default false. */
    query: v.optional(v.boolean('true or false'), false),
    /** `errors`: only what ended as 5xx, was refused, or was cut. Default `all`. */
    only: v.optional(oneOf('all', 'errors'), 'all'),
  }),
  v.transform(({ only, ...rest }): AccessLogSettings => ({ ...rest, onlyErrors: only === 'errors' })),
)

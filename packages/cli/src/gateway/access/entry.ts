/** One line of the access log: what was asked, by whom, and what came of it. */
export interface Entry {
  /** When the head of the request was here: Unix time in milliseconds. */
  readonly at: number
  readonly id: string
  /** The trace it belongs to; '' for none. */
  readonly trace: string
  readonly client: string
  /** '' for what could not be read: then target, version and host are so, too. */
  readonly method: string
  /** As it came, with the query. */
  readonly target: string
  readonly version: string
  readonly host: string
  readonly referrer: string
  readonly agent: string
  /** '' where none fits. */
  readonly route: string
  /** The server whose answer this is, or who was asked last; '' when none was. */
  readonly upstream: string
  readonly attempts: number
  /** 0: the client left before there was an answer. */
  readonly status: number
  /** Of the answer's body. */
  readonly sentBytes: number
  /** Why the gateway answered itself, in one word; '' when it did not. */
  readonly code: string
  /** The answer stopped in the middle, or the client left before its end. */
  readonly cut: boolean
  readonly tookMs: number
}

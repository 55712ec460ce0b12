import { Readable } from 'node:stream'
import type { RequestBody } from './request-body.ts'

/** What one try reads. */
export class BodyReader extends Readable {
  private readonly body: RequestBody

  constructor(body: RequestBody) {
    super()
    this.body = body
    // Whoever reads it hears of its end otherwise, too; and when nobody does any more, an error is no news.
    this.on('error', () => {})
  }

  override _read(): void {
    this.body.pull(this)
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.body.left(this)
    callback(error)
  }
}

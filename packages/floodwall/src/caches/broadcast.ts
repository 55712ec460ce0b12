// How does every process hear that something has changed?
//
// The least that a message bus can do: a topic, a message, those who listen. The one here reaches this process; one over Redis reaches all.
// Nobody relies on a message: it may be lost, come late or twice, and what hears it asks the source itself.

/** A way to all processes, or within one. Messages are plain, JSON-safe objects of at most a few hundred KB. */
export interface Broadcast {
  /** Tells everyone who has subscribed to `topic`, perhaps the sender too. What it throws or rejects with is counted by the sender. */
  publish(topic: string, message: unknown): void | Promise<void>
  /** Calls `listener` for each message; returns the way to stop, which may be called twice. */
  subscribe(topic: string, listener: (message: unknown) => void): () => void
}

/** Within one process, at once and in the order of the subscriptions. */
export class LocalBroadcast implements Broadcast {
  /** Errors that listeners threw; the others heard the message all the same. */
  failures = 0
  private readonly topics = new Map<string, Set<{ readonly listener: (message: unknown) => void }>>()

  publish(topic: string, message: unknown): void {
    // A copy: who hears may subscribe or stop.
    for (const { listener } of [...(this.topics.get(topic) ?? [])]) {
      try {
        listener(message)
      } catch {
        this.failures++
      }
    }
  }

  subscribe(topic: string, listener: (message: unknown) => void): () => void {
    const { topics } = this
    const entry = { listener }
    const listeners = topics.get(topic) ?? new Set()
    topics.set(topic, listeners.add(entry))
    return () => {
      // The topic may have been made anew since.
      if (listeners.delete(entry) && listeners.size === 0 && topics.get(topic) === listeners) topics.delete(topic)
    }
  }

  /** Topics that somebody listens to. */
  get size(): number {
    return this.topics.size
  }
}

/** A {@link Broadcast} within this process, for tests and for several caches of one program. */
export function localBroadcast(): LocalBroadcast {
  return new LocalBroadcast()
}

import { afterAll, onTestFinished } from 'vitest'

const due: (() => void)[] = []

afterAll(() => {
  for (const undo of due.splice(0)) undo()
})

/** Undoes something when the test ends; what a whole file shares, when the file ends. */
export function later(undo: () => void): void {
  try {
    onTestFinished(undo)
  } catch {
    due.push(undo)
  }
}

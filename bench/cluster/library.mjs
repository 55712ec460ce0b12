// The library under test and its virtual world, from the same build.
import { pathToFileURL } from 'node:url'
import { floodwall } from '../hot/floodwall.mjs'

export async function library(file) {
  const own = await floodwall(file)
  const testing =
    file === undefined
      ? await import('floodwall/testing')
      : await import(new URL('testing/index.js', pathToFileURL(file)).href)
  return { ...own, ...testing }
}

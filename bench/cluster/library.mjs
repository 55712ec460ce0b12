// The library under test and its virtual world, from the same build. Further parts are loaded by those who need them.
import { pathToFileURL } from 'node:url'
import { floodwall } from '../hot/floodwall.mjs'

export async function library(file) {
  const part = (name) =>
    import(file === undefined ? `floodwall/${name}` : new URL(`${name}/index.js`, pathToFileURL(file)).href)
  return { ...(await floodwall(file)), ...(await part('testing')), part }
}

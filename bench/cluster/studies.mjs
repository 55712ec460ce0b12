import { allOut } from './studies/all-out.mjs'
import { isolation } from './studies/isolation.mjs'
import { shares } from './studies/shares.mjs'

export const studies = [shares, isolation, allOut]

// The cluster, through a pipeline in callback style: what `balance` does for every call.
import { REFUSED } from '../fate.mjs'

export class FloodwallFleet {
  callbacks = true

  constructor(library, { world, begins, isolated, returned }, options) {
    const { answered, balance, Cluster, failed, pipeline } = library
    this.cluster = new Cluster(options, world.env('fleet'))
    this.cluster.update(begins.map((_, i) => ({ id: String(i) })))
    this.pipeline = pipeline('fleet', [balance({ cluster: this.cluster })], { runtime: world })
    this.cluster.watch({
      moved({ endpoint: { id } }, to) {
        if (to === 'open') isolated(Number(id))
        else if (to === 'closed') returned(Number(id))
      },
    })
    const refused = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' })
    const broken = new Error('broken')
    this.work = (call, done) =>
      begins[Number(call.endpoint.id)]((fate) =>
        done(fate.ok ? answered(1) : failed(fate.ran ? broken : refused, fate.verdict, fate.ran)),
      )
  }

  send(done) {
    this.pipeline.start(this.work, (outcome) => done(outcome.rejection === undefined ? outcome : REFUSED))
  }
}

// What would this limit refuse? It is asked, counted and never obeyed; then it becomes real without a restart.
import { isRejected, pipeline, rateLimit, shadow } from 'floodwall'

const limit = rateLimit({ rate: 10, burst: 20 })
const api = pipeline('api', [shadow({ of: limit })])

api.on((event) => {
  if (event.type === 'refused') console.log(`  ${event.shadow ? 'would refuse' : 'refuses'}: ${event.why}`)
})

async function rush(calls) {
  let refused = 0
  for (let i = 0; i < calls; i++) {
    try {
      await api.call(() => 'hello')
    } catch (error) {
      if (!isRejected(error)) throw error
      refused++
    }
  }
  return refused
}

console.log(`in the shadow ${await rush(100)} of 100 were refused`)
console.dir(api.inspect().layers, { depth: null })

api.reload([limit])
console.log(`for real ${await rush(100)} of 100 were refused`)

export { Exchange, FakePeer, type Script } from './fake-peer.ts'
export { type Check, gateContract } from './gate-contract.ts'
export { seeded } from './random.ts'
export { VirtualRuntime } from './virtual-runtime.ts'

import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { Signals } from '../../../src/server/signals/index.ts'
import { LEGACY, legacy, Machine, UNIFIED, unified } from './support/machine.ts'

// What the kernel's books say of a container, wherever it stands in the tree. Each world is a folder in place of `/`.

type Files = Readonly<Record<string, string>>

/** Shares after 250 ms in which the group used and was stopped so long. */
function after(before: Files, later: Files = {}, prepare: (machine: Machine) => void = () => {}) {
  using machine = new Machine()
  machine.write(before)
  const world = new VirtualRuntime()
  const signals = new Signals(world, machine)
  const release = signals.hold()
  signals.touch()
  prepare(machine)
  machine.write(later)
  world.advance(250)
  const shown = signals.inspect(world.precise())
  release()
  return Object.fromEntries(['quota', 'throttled', 'stalled', 'memory'].map((name) => [name, shown[name]?.value]))
}

const NOTHING = { quota: null, throttled: null, stalled: null, memory: null }
const self = (text: string) => ({ 'proc/self/cgroup': text })
const v2 = (group: string, mounts = UNIFIED) => ({ ...self(`0::${group}\n`), 'proc/self/mountinfo': mounts })

test('a machine without any of these files says nothing, and nothing is wrong', () => {
  expect(after({})).toEqual(NOTHING)
  expect(after({ 'proc/self/cgroup': 'no sense\n::::\n', 'proc/self/mountinfo': ' - \n- cgroup2\n' })).toEqual(NOTHING)
})

describe('version 2', () => {
  const pod = 'sys/fs/cgroup/kubepods/pod1/c1'

  test('half a core of quota: 100 ms used of 125, stopped for 150 of 250', () => {
    const at = (used: number, stopped: number) => unified(pod, '50000 100000', used, stopped)
    expect(after({ ...v2('/kubepods/pod1/c1'), ...at(1000, 500) }, at(1100, 650))).toEqual({
      ...NOTHING,
      quota: 0.8,
      throttled: 0.6,
    })
  })

  test('max is no quota', () => {
    const at = (used: number) => unified(pod, 'max 100000', used, 0)
    expect(after({ ...v2('/kubepods/pod1/c1'), ...at(0) }, at(100))).toEqual(NOTHING)
  })

  test('nested: the tightest quota and the least memory around us, with the books of the group that has it', () => {
    const outer = 'sys/fs/cgroup/kubepods/pod1'
    const at = (used: number) => ({
      ...unified(pod, '400000 100000', 1, 1),
      ...unified(outer, '100000 100000', used, 0),
    })
    const memory = {
      [`${pod}/memory.max`]: 'max\n',
      [`${outer}/memory.max`]: '1000\n',
      [`${outer}/memory.current`]: '900\n',
      [`${outer}/memory.stat`]:
        'anon 5\ninactive_file 400\nactive_file 20\nslab_reclaimable 30\nslab_unreclaimable 9\n',
    }
    expect(after({ ...v2('/kubepods/pod1/c1'), ...at(0), ...memory }, at(125))).toEqual({
      quota: 0.5,
      throttled: 0,
      stalled: null,
      memory: 0.45,
    })
  })

  test.each([
    ['a namespace of its own', '/', UNIFIED],
    ['a path of the host that means nothing here', '/kubepods/pod1/c1', UNIFIED],
    ['a group outside of the namespace', '/../../other', UNIFIED],
    [
      'only its own part of the tree mounted',
      '/kubepods/pod1/c1',
      '9 1 0:2 /kubepods/pod1/c1 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n',
    ],
    ['a blank in the path', '/', '9 1 0:2 / /sys/fs/c\\040group ro - cgroup2 cgroup2 rw\n'],
  ])('%s: the files lie at the mount', (_, group, mounts) => {
    const folder = mounts.includes('\\040') ? 'sys/fs/c group' : 'sys/fs/cgroup'
    const at = (used: number) => unified(folder, '200000 100000', used, 0)
    expect(after({ ...v2(group, mounts), ...at(0) }, at(250))).toEqual({ ...NOTHING, quota: 0.5, throttled: 0 })
  })

  test('stalls of the group, or else of the machine', () => {
    const psi = (us: number) => `some avg10=1.00 avg60=1.00 avg300=1.00 total=${us}\nfull avg10=0.00 total=1\n`
    const own = (us: number) => ({ 'sys/fs/cgroup/g/cpu.pressure': psi(us) })
    const all = (us: number) => ({ 'proc/pressure/cpu': psi(us) })
    expect(after({ ...v2('/g'), ...own(1000), ...all(0) }, { ...own(51_000), ...all(250_000) }).stalled).toBe(0.2)
    expect(after(all(0), all(125_000)).stalled).toBe(0.5)
  })

  test('files that vanish say nothing; a new group in their place is found and counts from its own beginning', () => {
    using machine = new Machine()
    const at = (used: number) => unified('sys/fs/cgroup', '100000 100000', used, 0)
    machine.write({ ...v2('/'), ...at(1000) })
    const world = new VirtualRuntime()
    const signals = new Signals(world, machine)
    using _ = { [Symbol.dispose]: signals.hold() }
    const quota = () => signals.inspect(world.precise())['quota']?.value
    const pass = (ms: number) => {
      signals.touch()
      world.advance(ms)
    }
    pass(250)
    expect(quota()).toBe(0)
    machine.remove('sys')
    for (let i = 0; i < 50; i++) pass(250)
    expect(quota()).toBeNull()
    machine.write(at(10))
    for (let i = 0; i < 50; i++) pass(250)
    machine.write(at(260))
    pass(250)
    expect(quota()).toBe(1)
  })
})

describe('version 1', () => {
  const groups = self('9:memory:/docker/c1\n3:cpuacct:/docker/c1\n2:cpu:/docker/c1\n0::/\n')

  test('a quota in its own files, throttled time in nanoseconds, usage beside it', () => {
    const at = (used: number, stopped: number) => legacy('/docker/c1', '200000', used, stopped)
    expect(after({ ...groups, 'proc/self/mountinfo': LEGACY, ...at(0, 0) }, at(250, 50))).toEqual({
      ...NOTHING,
      quota: 0.5,
      throttled: 0.2,
    })
  })

  test('-1 is no quota, and 2^63 less a page no limit', () => {
    const memory = (limit: string) => ({
      'sys/fs/cgroup/memory/docker/c1/memory.limit_in_bytes': `${limit}\n`,
      'sys/fs/cgroup/memory/docker/c1/memory.usage_in_bytes': '800\n',
      'sys/fs/cgroup/memory/docker/c1/memory.stat':
        'inactive_file 1\nactive_file 2\ntotal_inactive_file 50\ntotal_active_file 150\n',
    })
    const files = { ...groups, 'proc/self/mountinfo': LEGACY, ...legacy('/docker/c1', '-1', 1, 1) }
    expect(after({ ...files, ...memory('9223372036854771712') })).toEqual(NOTHING)
    expect(after({ ...files, ...memory('1000') })).toEqual({ ...NOTHING, memory: 0.6 })
  })
})

describe('memory that Node itself believes to be limited', () => {
  test.each([
    [0, null],
    [18_446_744_073_709_552_000, null],
    [16_000, null],
    [2000, 0.5],
  ])('%d bytes', (constrained, share) => {
    const set = (machine: Machine) => {
      machine.constrainedTo = constrained
      machine.resident = 1000
    }
    using machine = new Machine()
    set(machine)
    const world = new VirtualRuntime()
    const signals = new Signals(world, machine)
    using _ = { [Symbol.dispose]: signals.hold() }
    signals.touch()
    expect(signals.inspect(world.precise())['memory']?.value).toBe(share)
  })
})

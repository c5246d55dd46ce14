import { type IsolationLayer, isolationLayers, type LayerState } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import { checkIsolation } from './doctor-isolation.ts'
import type { WorkerInfo, WorkerIsolation } from './worker-admin.ts'

function check(isolation: WorkerIsolation | null, state: WorkerInfo['state'] = 'up') {
  return checkIsolation({ worker: { info: () => ({ state, isolation }) } as never })
}

function layers(others: Partial<Record<IsolationLayer, LayerState>>): WorkerIsolation['layers'] {
  const on = Object.fromEntries(isolationLayers.map((layer) => [layer, 'on']))
  return { ...(on as WorkerIsolation['layers']), ...others }
}

test('with all layers on there is one finding, and it says which', () => {
  const items = check({ layers: layers({}), because: [] })
  expect(items).toHaveLength(1)
  expect(items[0]).toMatchObject({ id: 'worker-isolation', state: 'ok', who: null, next: null })
  expect(items[0]?.text).toContain('files of its own')
  expect(items[0]?.text).toContain('a filter of system calls')
})

test('each layer that is missing is a warning with its reason and a step', () => {
  const because = ['bubblewrap is not installed.']
  for (const layer of isolationLayers) {
    const [first, second, ...more] = check({ layers: layers({ [layer]: 'off' }), because })
    expect(first?.state).toBe('ok')
    expect(second).toMatchObject({ id: `worker-isolation:${layer}`, state: 'warning' })
    expect(second?.who).toBe('operator')
    expect(second?.text).toContain('bubblewrap is not installed.')
    expect(second?.next).toMatch(/\.$/)
    expect(more).toEqual([])
  }
})

test('a reason without a layer that is missing is a warning too', () => {
  const [only, ...more] = check({ layers: layers({}), because: ['Keys cannot be rotated.'] })
  expect(only).toMatchObject({ id: 'worker-isolation', state: 'warning', who: 'operator' })
  expect(only?.text).toContain('Keys cannot be rotated.')
  expect(more).toEqual([])
})

test('what the system does not tell is said as that', () => {
  const [, second] = check({ layers: layers({ processes: 'unknown' }), because: [] })
  expect(second?.text).toMatch(/^This system does not tell whether/)
})

test('a worker that tells nothing is a warning, one that is away is told elsewhere', () => {
  expect(check(null)).toMatchObject([{ id: 'worker-isolation', state: 'warning' }])
  expect(check(null, 'down')).toEqual([])
})

import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { spawnGate } from './spawn-gate.ts'

const spawned = {
  environment: {},
  stdio: ['ignore', 'ignore', 'ignore'] as const,
  folder: '/',
  inputs: new Map(),
  status: undefined,
  passed: new Map(),
}

test('what cannot be started is a sandbox that failed', async () => {
  const there = { ...spawned, words: ['/bin/true'], folder: '/not/there' }
  const error = await spawnGate(there).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'sandbox_failed', cause: { code: 'ENOENT' } })
})

test('so it is without descriptors, and whoever starts it goes on', () => {
  const script = `
    import { closeSync, openSync, writeFileSync } from 'node:fs'
    import { spawnGate } from ${JSON.stringify(new URL('./spawn-gate.ts', import.meta.url).href)}
    const attempt = () => spawnGate({
      words: ['/bin/true'], environment: {}, stdio: ['ignore', 'ignore', 'ignore'], folder: '/',
      inputs: new Map(), status: undefined, passed: new Map(),
    }).catch((thrown) => [thrown.code, thrown.cause?.code])
    const held = []
    try {
      for (;;) held.push(openSync('/dev/null'))
    } catch {}
    const without = await attempt()
    for (const descriptor of held) closeSync(descriptor)
    writeFileSync(1, JSON.stringify([without, await attempt()]))`
  const limited = ['-c', 'ulimit -n 100 && exec "$@"', 'sh']
  const node = [process.execPath, '--input-type=module', '-e', script]
  const [without, control] = JSON.parse(
    execFileSync('sh', [...limited, ...node], { encoding: 'utf8' }),
  )
  expect(without).toEqual(['sandbox_failed', 'EMFILE'])
  // The control: with some it is started, and ends without a word of a gate.
  expect(control).toEqual(['sandbox_failed', null])
})

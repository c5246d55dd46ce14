/** What of the worker's walls is on, by what it finds from inside, and what would put on the rest. */
import type { Answer } from '@sallyport/protocol'
import { type IsolationLayer, isolationLayers } from '@sallyport/protocol/node'
import type { ApiDeps } from './api-deps.ts'

type Check = Answer<'doctor.run'>['items'][number]

interface Words {
  /** When it is on. */
  readonly on: string
  readonly off: string
  readonly next: string
}

const byBubblewrap =
  'Install bubblewrap and restart sallyport up, or run the worker by the unit in deploy/.'
const words: Readonly<Record<IsolationLayer, Words>> = {
  files: {
    on: 'files of its own, read-only',
    off: 'The worker sees the files of this machine.',
    next: byBubblewrap,
  },
  processes: {
    on: 'no processes but its own',
    off: 'The worker sees the processes of this machine.',
    next: byBubblewrap,
  },
  user: {
    on: 'a user without privileges',
    off: 'The worker is root, or has privileges of root.',
    next: 'Start Sallyport as an ordinary user, or with bubblewrap installed.',
  },
  privileges: {
    on: 'none to be gained',
    off: 'A program that the worker starts could gain privileges.',
    next: byBubblewrap,
  },
  system_calls: {
    on: 'a filter of system calls',
    off: 'No filter limits the system calls of the worker.',
    next: byBubblewrap,
  },
  permission: {
    on: 'limits of Node',
    off: 'Node does not limit what the worker reads, writes and starts.',
    next: 'Start sallyport up without --worker-isolation none, or the worker with the flags in deploy/.',
  },
  environment: {
    on: 'an empty environment',
    off: 'The worker has an environment, which may hold secrets of others.',
    next: 'Start the worker with an empty environment, as the unit in deploy/ does.',
  },
}

/** Nothing while the worker is away: that is told elsewhere. */
export function checkIsolation({ worker }: Pick<ApiDeps, 'worker'>): Check[] {
  const { state, isolation } = worker.info()
  if (state === 'down') return []
  if (!isolation)
    return [warning('worker-isolation', notTold, 'Install one release, then restart.')]
  const { layers, because } = isolation
  const on = isolationLayers.filter((layer) => layers[layer] === 'on')
  const missing = isolationLayers.filter((layer) => layers[layer] !== 'on')
  const text = `Around the worker: ${list(on)}.`
  const isMarred = missing.length === 0 && because.length > 0
  return [
    isMarred
      ? warning(
          'worker-isolation',
          [text, ...because].join(' '),
          'See docs/isolation.md, "The worker".',
        )
      : { id: 'worker-isolation', state: 'ok', text, who: null, next: null },
    ...missing.map((layer) => {
      const { off, next } = words[layer]
      const text = layers[layer] === 'unknown' ? `This system does not tell whether: ${off}` : off
      return warning(`worker-isolation:${layer}`, [text, ...because].join(' '), next)
    }),
  ]
}

const list = (layers: readonly IsolationLayer[]): string =>
  layers.map((layer) => words[layer].on).join('; ') || 'nothing'

const notTold = 'The worker does not tell what separates it from this machine.'

function warning(id: string, text: string, next: string): Check {
  return { id, state: 'warning', text, who: 'operator', next }
}

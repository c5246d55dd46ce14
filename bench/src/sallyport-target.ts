/** Sallyport with everything on, before the hand-written upstream. */
import { connectAndGrant } from '../../tests/harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../../tests/harness/start-sallyport.ts'
import { Connection } from './connection.ts'
import type { Target } from './rounds.ts'
import { listTools, methodHeaders } from './rpc.ts'
import { usageOf } from './usage.ts'

export interface SallyportTarget {
  /** Address and process numbers change with `measureColdStarts`. */
  target(): Target
  /** Of gateway and worker, in MiB. */
  residentMib(): number
  /** From spawning the program to its first right answer to tools/list, on the same data, in ms. */
  measureColdStarts(times: number): Promise<number[]>
  stop(): Promise<void>
}

const name = 'bench'

/** `program`: the bundle that ships, or undefined for the sources. `args`: beside what every start has. */
export async function startSallyportTarget(
  upstream: { readonly url: string; readonly pid: number },
  program: string | undefined,
  args: readonly string[] = [],
): Promise<SallyportTarget> {
  const sallyport = await startSallyport({ args, ...(program === undefined ? {} : { program }) })
  // The only limit that is raised: one session sends here what many would.
  const rate = { name: 'requestsPerMinutePerSession' }
  await sallyport.api('setting.set', rate, { value: 1_000_000 })
  const session = await connectAndGrant(sallyport, {
    name,
    url: upstream.url,
    token: 'not-checked-by-this-upstream',
    read: ['echo'],
    write: ['echo_write'],
    unattended: true,
    profile: name,
  })
  const headers = { Authorization: `Bearer ${session.token}` }
  const target = (): Target => ({
    name: 'sallyport',
    url: `${sallyport.guestUrl}/mcp/${name}`,
    headers,
    servers: { ...processesOf(sallyport), upstream: upstream.pid },
  })
  return {
    target,
    residentMib: () => {
      const pids = Object.values(processesOf(sallyport))
      return pids.reduce((sum, pid) => sum + usageOf(pid, pids).rssMib, 0)
    },
    measureColdStarts: async (times) => {
      const measured: number[] = []
      for (let time = 0; time < times; time++) {
        await sallyport.stop()
        const start = performance.now()
        await sallyport.restart()
        await expectTools(target())
        measured.push(performance.now() - start)
      }
      return measured
    },
    stop: async () => {
      await sallyport.stop()
      await sallyport.remove()
    },
  }
}

function processesOf(sallyport: Sallyport): { gateway: number; worker: number } {
  const worker = sallyport.workerPid()
  if (worker === undefined) throw new Error('there is no worker')
  return { gateway: sallyport.pid, worker }
}

async function expectTools({ url, headers }: Target): Promise<void> {
  const all = { ...methodHeaders('tools/list'), ...headers }
  const connection = await Connection.open(new URL(url), all)
  const { status, body } = await connection.request(listTools)
  connection.close()
  if (status !== 200 || !body.includes('"echo_write"'))
    throw new Error(`wrong answer to tools/list ${status}: ${body}`)
}

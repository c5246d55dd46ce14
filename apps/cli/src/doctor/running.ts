import type { RunningGateway } from '@sallyport/protocol/node'
import { isAlive } from '../find-gateway.ts'
import { type Check, fine, problem, warning } from './finding.ts'

const id = 'running'

/** Whether what `up` wrote into the data folder is still true. */
export async function checkRunning(
  running: RunningGateway | undefined,
): Promise<{ readonly check: Check; readonly isAnswering: boolean }> {
  if (!running)
    return {
      check: warning(id, 'No Sallyport runs on this data folder.', 'Start it with "sallyport up".'),
      isAnswering: false,
    }
  const { url, pid } = running
  if (!isAlive(pid)) {
    const text = `endpoint.json in the data folder is stale: process ${pid} has ended.`
    return { check: warning(id, text, 'Start it with "sallyport up".'), isAnswering: false }
  }
  if (await answersHealth(url))
    return { check: fine(id, `${url}, process ${pid}`), isAnswering: true }
  const text = `Process ${pid} is there, but nothing answers at ${url}.`
  const next = 'Look at its log; if that process is another program, start "sallyport up" again.'
  return { check: problem(id, text, next), isAnswering: false }
}

const healthWithin = 3000

export async function answersHealth(url: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(healthWithin)
    const response = await fetch(new URL('/healthz', url), { redirect: 'error', signal })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}

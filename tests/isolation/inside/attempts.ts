/** What somebody who had taken a worker over would try, each told by its name and what came of it. */
import { spawnSync } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { Worker } from 'node:worker_threads'

export type Attempt =
  | { readonly kind: 'read' | 'list' | 'write' | 'spawn'; readonly path: string }
  | { readonly kind: 'signal'; readonly pid: number }
  | { readonly kind: 'thread' | 'netlink' }

export interface Tried {
  readonly attempt: Attempt
  /** `ok`, or the code of the error. */
  readonly came: string
}

/** Nothing is changed by them but that a file to write to is made. */
export function tryAll(attempts: readonly Attempt[]): Tried[] {
  return attempts.map((attempt) => {
    try {
      tryOne(attempt)
      return { attempt, came: 'ok' }
    } catch (thrown) {
      return { attempt, came: String((thrown as NodeJS.ErrnoException).code ?? thrown) }
    }
  })
}

function tryOne(attempt: Attempt): void {
  switch (attempt.kind) {
    case 'read':
      readFileSync(attempt.path)
      return
    case 'list':
      readdirSync(attempt.path)
      return
    case 'write':
      closeSync(openSync(attempt.path, 'a'))
      return
    case 'spawn': {
      const { error } = spawnSync(attempt.path, ['--version'])
      if (error) throw error
      return
    }
    case 'signal':
      process.kill(attempt.pid, 0)
      return
    case 'netlink':
      networkInterfaces()
      return
    case 'thread':
      void new Worker('', { eval: true }).terminate()
  }
}

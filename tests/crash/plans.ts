/** The harness's side of plans: writes them where the processes look, and reads what was hit. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Hit,
  hitsFile,
  type Plan,
  pidFile,
  planFile,
  type Role,
  releaseFile,
  roles,
} from './preload/step-book.ts'

const lookEveryMs = 10
let lastPlan = 0

export class Plans {
  readonly folder: string

  constructor(folder: string) {
    this.folder = folder
    mkdirSync(folder, { recursive: true })
  }

  /** In force at once. The plan before it is forgotten. */
  arm(plan: Omit<Plan, 'id'>): number {
    const id = ++lastPlan
    this.disarm()
    const file = planFile(this.folder, plan.role)
    writeFileSync(`${file}.new`, JSON.stringify({ ...plan, id }))
    renameSync(`${file}.new`, file)
    return id
  }

  disarm(): void {
    for (const role of roles) rmSync(planFile(this.folder, role), { force: true })
  }

  hits(): Hit[] {
    const file = hitsFile(this.folder)
    if (!existsSync(file)) return []
    // Made, and the first line not yet written; or that one in part.
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line) as Hit)
  }

  /** Resolves with the hit, or undefined when it does not come within `ms`. */
  async hit(id: number, ms: number): Promise<Hit | undefined> {
    for (let waited = 0; waited <= ms; waited += lookEveryMs) {
      const found = this.hits().find(({ plan }) => plan === id)
      if (found) return found
      await sleep(lookEveryMs)
    }
    return undefined
  }

  /** What was held goes on. */
  release(id: number): void {
    writeFileSync(releaseFile(this.folder, id), '')
  }

  pid(role: Role): number | undefined {
    const file = pidFile(this.folder, role)
    return existsSync(file) ? Number(readFileSync(file, 'utf8')) : undefined
  }

  tellPid(role: Role, pid: number): void {
    writeFileSync(pidFile(this.folder, role), String(pid))
  }
}

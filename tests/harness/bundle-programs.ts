/**
 * Before the tests that start whole programs: bundles them, anew in every run of vitest, so they are never those of other
 * sources. A gateway and its worker then start for a third of the time of the processor, and they are what ships.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { bundlePrograms } from '../../scripts/bundle.ts'
import { programsVariable } from './bundled-programs.ts'

const parent = fileURLToPath(new URL('../../.cache', import.meta.url))
const more = { 'conformance-client': 'tests/conformance/client.ts' }
const ofThisRun = `programs-${process.pid}-`

/** The projects of a run share what the first one made. */
export default async function setup(project: TestProject): Promise<(() => void) | undefined> {
  if (basename(process.env[programsVariable] ?? '').startsWith(ofThisRun)) return undefined
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, ofThisRun))
  // Root's worker is somebody else, who must be able to read it.
  chmodSync(folder, 0o755)
  process.env[programsVariable] = folder
  await bundlePrograms(folder, more)
  project.onTestsRerun(() => bundlePrograms(folder, more))
  return () => rmSync(folder, { recursive: true, force: true })
}

/** The corpus of destinations, each tried against a server that is at every address of a network of its own. */
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { corpus } from './corpus/corpus.ts'
import type { CorpusReport } from './corpus/report.ts'
import { isolationProblem, isolationTitle, runIsolated } from './isolated-network.ts'

const program = fileURLToPath(new URL('inside/corpus-main.ts', import.meta.url))

test('holds at least 300 destinations, none twice, and a control in every group', () => {
  const refused = corpus.flatMap((group) => group.refused)
  expect(refused.length).toBeGreaterThanOrEqual(300)
  expect(corpus.filter(({ passes }) => passes.length === 0)).toEqual([])
  expect(new Set(refused).size).toBe(refused.length)
})

describe.skipIf(isolationProblem)(isolationTitle, () => {
  let reports: ReadonlyMap<string, CorpusReport>
  beforeAll(async () => {
    const told = await runIsolated<CorpusReport[]>({ program, hosts: '127.0.0.1 hosts-file.dev\n' })
    reports = new Map(told.map((report) => [report.what, report]))
  })

  test.each(corpus)('$what: none is reached, and what looks alike is', (group) => {
    const { codes, hits, arrived, naive } = reports.get(group.what) as CorpusReport
    const told = group.refused.map((url, index) => [url, codes[index]])
    expect(told).toEqual(group.refused.map((url) => [url, group.code]))
    expect(hits).toEqual([])
    const controls = group.passes.map(([url], index) => [url, arrived[index]])
    expect(controls).toEqual(group.passes)
    // The trap works: whoever does not judge is caught by it.
    if (group.code === 'upstream_blocked_address' && !group.isNowhere)
      expect(naive).toBeGreaterThan(0)
  })
})

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { bubblewrap } from '../bubblewrap/bubblewrap.ts'
import { noSandbox } from '../none/none.ts'
import { sandboxSuite } from '../testing/sandbox-suite.ts'
import { verifySandbox } from './verify-sandbox.ts'

let dataFolder: string
beforeEach(() => {
  dataFolder = mkdtempSync(join(tmpdir(), 'sallyport-data-'))
})
afterEach(() => rmSync(dataFolder, { recursive: true }))

await sandboxSuite(bubblewrap(), () => {
  test('a sandbox with walls shows nothing bad, from outside and from inside', async () => {
    const { findings, plan, evidence } = await verifySandbox(bubblewrap(), dataFolder)
    expect(findings.filter(({ isGood }) => !isGood)).toEqual([])
    const names = findings.map(({ name }) => name)
    expect(names).toContain('inside: TCP to 127.0.0.1 of the host')
    expect(names).toContain('inside: an abstract socket of the host')
    expect(names).toContain('inside: make a user namespace')
    expect(names.length).toBeGreaterThan(20)
    expect(plan.isolation).toBe(evidence.isolation)
  })

  test('one without a wall is told by it, and nothing is tried inside', async () => {
    const open = bubblewrap({
      tamper: (making) => ({
        ...making,
        arguments: making.arguments.filter((word) => word !== '--unshare-net'),
      }),
    })
    const { findings } = await verifySandbox(open, dataFolder)
    const bad = findings.filter(({ isGood }) => !isGood).map(({ name }) => name)
    expect(bad).toEqual(expect.arrayContaining(['namespaces']))
    expect(findings.some(({ name }) => name.startsWith('inside'))).toBe(false)
  })
})

test('without a sandbox everything that must be denied is done: the attempts are real', async () => {
  const { findings } = await verifySandbox(noSandboxWithNode(), dataFolder)
  const reached = findings.filter(({ name, text }) => name.startsWith('inside') && text === 'done')
  const names = reached.map(({ name }) => name)
  expect(names).toContain('inside: TCP to 127.0.0.1 of the host')
  expect(names).toContain('inside: an abstract socket of the host')
  expect(names).toContain('inside: signal a process of the host')
  expect(names.some((name) => name.startsWith('inside: read '))).toBe(true)
})

/** There the Node is where it is. */
function noSandboxWithNode() {
  const none = noSandbox()
  return {
    ...none,
    plan: (spec: Parameters<typeof none.plan>[0]) =>
      none.plan({ ...spec, command: [process.execPath, ...spec.command.slice(1)] }),
  }
}

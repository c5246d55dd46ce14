import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { processTree, scanFiles, scanProcesses } from './procscan.ts'

const secret = 'sentinel-5f1c77aa0d'
const secrets = { credential: secret }

/** A shell that starts another program and waits, with a line on stdout once that one runs. */
async function startTree(argument: string, variables: Record<string, string>) {
  const script = `node -e 'console.log(1); setInterval(() => {}, 1000)' -- "$1"; true`
  const { PATH = '' } = process.env
  const child = spawn('sh', ['-c', script, 'sh', argument], {
    env: { PATH, ...variables },
    detached: true,
  })
  await once(child.stdout, 'data')
  return { pid: child.pid as number, end: () => process.kill(-(child.pid as number), 'SIGKILL') }
}

test('finds a secret in the arguments of a grandchild', async () => {
  const tree = await startTree(`--token=${secret}`, {})
  try {
    expect(processTree(tree.pid).length).toBeGreaterThanOrEqual(2)
    const findings = scanProcesses(tree.pid, secrets)
    expect(findings).toContainEqual({ secret: 'credential', where: 'argv', holder: 'node' })
  } finally {
    tree.end()
  }
})

test('finds a secret in the environment, plain or base64, and names the variable', async () => {
  const coded = Buffer.from(secret).toString('base64')
  const tree = await startTree('nothing', { PLAIN: secret, CODED: coded })
  try {
    const variables = scanProcesses(tree.pid, secrets).map((finding) => finding.variable)
    expect(new Set(variables)).toEqual(new Set(['PLAIN', 'CODED']))
  } finally {
    tree.end()
  }
})

test('finds nothing where there is nothing', async () => {
  const tree = await startTree('nothing', {})
  try {
    expect(scanProcesses(tree.pid, secrets)).toEqual([])
  } finally {
    tree.end()
  }
})

test('finds a secret in a file of a subfolder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-scan-'))
  try {
    expect(scanFiles(folder, secrets)).toEqual([])
    await writeFile(join(folder, 'clean'), 'nothing')
    await writeFile(join(folder, '.log'), `got ${secret}!`)
    expect(scanFiles(folder, secrets)).toEqual([
      { secret: 'credential', where: 'file', holder: join(folder, '.log') },
    ])
  } finally {
    await rm(folder, { recursive: true })
  }
})

import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority, issueCertificate } from '@sallyport/protocol/node'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runWords } from '../testing/run-words.ts'
import { ScriptedApi } from '../testing/scripted-api.ts'
import { checkCertificates } from './certificates.ts'
import { checkDataFolder } from './data-folder.ts'
import { checkNode } from './node-version.ts'
import { checkPorts } from './ports.ts'
import { checkRunning } from './running.ts'

let folder: string
const opened: Server[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-doctor-'))
})
afterEach(async () => {
  rmSync(folder, { recursive: true })
  for (const server of opened.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

/** A program on a free port; as healthy as a Sallyport, or not at all. */
async function listen(isHealthy: boolean): Promise<string> {
  const server = createServer((_, response) => response.writeHead(isHealthy ? 200 : 404).end())
  opened.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function freeUrl(): Promise<string> {
  const url = await listen(false)
  await new Promise((resolve) => opened.pop()?.close(resolve))
  return url
}

test('an old Node is a problem, the needed one is not', () => {
  expect(checkNode('20.20.2')).toMatchObject({ state: 'problem', who: 'operator' })
  expect(checkNode('24.21.0')).toMatchObject({ state: 'ok' })
  expect(checkNode('26.0.0')).toMatchObject({ state: 'ok' })
})

test('a data folder that can be written is fine and stays as it was', async () => {
  expect(await checkDataFolder(folder)).toMatchObject({ state: 'ok' })
  expect(readdirSync(folder)).toEqual([])
})

test('a data folder that can still be made is a warning', async () => {
  expect(await checkDataFolder(join(folder, 'a', 'b'))).toMatchObject({ state: 'warning' })
  expect(readdirSync(folder)).toEqual([])
})

test('a data folder that cannot be used is a problem with a next step', async () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  for (const path of [file, join(file, 'below'), '/proc/sallyport', '/proc/self'])
    expect(await checkDataFolder(path)).toMatchObject({
      id: 'data-folder',
      state: 'problem',
      who: 'operator',
      next: expect.stringContaining('SALLYPORT_DATA'),
    })
})

test('a taken port is told with its address and by whom', async () => {
  const [mute, healthy, free] = [await listen(false), await listen(true), await freeUrl()]
  const host = (url: string) => new URL(url).host
  const [control, guest] = await checkPorts({ url: mute, guestUrl: healthy, pid: 1 })
  expect(control).toMatchObject({
    state: 'problem',
    text: `The control address ${host(mute)} is taken by another program.`,
  })
  expect(guest).toMatchObject({
    state: 'problem',
    text: `The guest address ${host(healthy)} is taken by another Sallyport.`,
  })
  const [first] = await checkPorts({ url: free, guestUrl: mute, pid: 1 })
  expect(first).toMatchObject({ state: 'ok' })
})

test('what up wrote is compared with what is there', async () => {
  const guestUrl = 'http://127.0.0.1:1'
  const url = await listen(true)
  expect(await checkRunning(undefined)).toMatchObject({ check: { state: 'warning' } })
  const ended = { url, guestUrl, pid: 2 ** 22 + 1 }
  expect(await checkRunning(ended)).toMatchObject({
    isAnswering: false,
    check: { state: 'warning', text: expect.stringContaining('stale') },
  })
  const silent = { url: await freeUrl(), guestUrl, pid: process.pid }
  expect(await checkRunning(silent)).toMatchObject({
    isAnswering: false,
    check: { state: 'problem' },
  })
  expect(await checkRunning({ url, guestUrl, pid: process.pid })).toMatchObject({
    isAnswering: true,
    check: { state: 'ok' },
  })
})

test('certificates are looked at by their end', async () => {
  const now = Date.parse('2026-11-30T12:00:00Z')
  const day = 86_400_000
  const authority = createAuthority({ commonName: 'test', days: 365, now: now - 100 * day })
  const write = (side: string, name: string, days: number) => {
    mkdirSync(join(folder, side), { recursive: true })
    const issued = { authority, role: 'worker', commonName: 'worker', now: now - 30 * day } as const
    const { certificatePem, privateKeyPem } = issueCertificate({ ...issued, days })
    writeFileSync(join(folder, side, name), certificatePem + privateKeyPem)
  }
  write('gateway', 'a-good.pem', 60)
  write('gateway', 'b-soon.pem', 33)
  write('worker', 'expired.pem', 20)
  writeFileSync(join(folder, 'worker', 'odd.pem'), 'no certificate')
  const found = await checkCertificates(folder, now)
  expect(found.map(({ state }) => state)).toEqual(['ok', 'warning', 'problem', 'problem'])
  expect(found[2]?.id).toBe('certificate:worker/expired.pem')
  expect(found[2]?.text).toContain('expired at 2026-11-20')
  expect(found[2]?.next).toContain('sallyport up')
  expect(found[3]?.next).toContain(`Remove ${join(folder, 'worker', 'odd.pem')}`)
})

test('doctor joins its own findings with those of the running Sallyport', async () => {
  const api = await new ScriptedApi().listen()
  const running = { url: api.url, guestUrl: api.url, pid: process.pid }
  writeFileSync(join(folder, 'endpoint.json'), JSON.stringify(running))
  writeFileSync(join(folder, 'admin-token'), 'admin\n')
  const env = { SALLYPORT_DATA: folder }
  try {
    const fine = await runWords(['doctor', '--json'], { env })
    expect(fine).toMatchObject({ code: 0, stderr: '' })
    const { items } = JSON.parse(fine.stdout)
    expect(items.map(({ id }: { id: string }) => id)).toEqual([
      'node',
      'running',
      'data-folder',
      'isolation',
      'worker',
    ])
    const finding = {
      id: 'docs',
      state: 'problem',
      text: 'Not published\x1b.',
      who: 'owner',
      next: 'Do.',
    }
    api.answer('doctor.run', { items: [finding] })
    const bad = await runWords(['doctor'], { env })
    expect(bad.code).toBe(1)
    expect(bad.stdout).toContain(
      'problem  docs: Not published\\u{1b}.\n    who can act: owner. Do.',
    )
    expect(bad.stderr).toMatch(/^problems_found: .* \(1 problem\)\.\n$/)
  } finally {
    await api.close()
  }
})

test('doctor without a running Sallyport says what it sees, and ends with 3', async () => {
  const endpoint = { url: await freeUrl(), guestUrl: await freeUrl(), pid: 2 ** 22 + 1 }
  writeFileSync(join(folder, 'endpoint.json'), JSON.stringify(endpoint))
  const { code, stdout, stderr } = await runWords(['doctor'], { env: { SALLYPORT_DATA: folder } })
  expect(code).toBe(3)
  expect(stdout).toContain('stale')
  expect(stderr).toMatch(/^unreachable: [^\n]*"sallyport up"[^\n]*\n$/)
})

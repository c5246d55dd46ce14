/** The one file that is copied into sandboxes: what it is made of, and that it starts where it has to. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errors } from '@sallyport/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundleShim } from '../../scripts/bundle-shim.ts'
import { findNode } from './find-node.ts'
import { shimFile } from './start-shim.ts'
import { makePlace, type Place } from './ways.ts'

const built = readFileSync(shimFile, 'utf8')

test('it is what its sources build: npm run shim', async () => {
  expect(await bundleShim()).toBe(built)
})

test('it is at most 16 KB, and can be started', () => {
  expect(Buffer.byteLength(built)).toBeLessThanOrEqual(16_000)
  expect(statSync(shimFile).mode & 0o111).toBe(0o111)
  expect(built.startsWith('#!/usr/bin/env node\n')).toBe(true)
})

test('it imports nothing but what every Node has', () => {
  const specifiers = [...built.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*["'`]([^"'`]+)["'`]/g)].map(
    ([, name]) => name,
  )
  expect(specifiers.length).toBeGreaterThan(3)
  expect(specifiers.filter((name) => !name?.startsWith('node:'))).toEqual([])
  expect(built).not.toMatch(/\brequire\b|\beval\b|new Function/)
})

test('it has no word of what is behind the gateway', () => {
  const words =
    /credential|vault|approval|journal|intent|upstream|worker|binding|grant|profile|policy|sqlite|postgres|undici|zod/i
  expect(words.exec('the approval of a write')).not.toBeNull()
  expect(words.exec(built)?.[0]).toBeUndefined()
  // Of the table of errors it has the sentences that it says itself.
  const said = Object.entries(errors).filter(([, { text }]) => built.includes(text))
  expect(said.map(([code]) => code).toSorted()).toEqual(['gateway_unreachable', 'too_large'])
})

test('its package holds nothing else, and depends on nothing', () => {
  const manifest = JSON.parse(
    readFileSync(new URL('../../apps/shim/package.json', import.meta.url), 'utf8'),
  )
  expect(manifest.bin).toEqual({ 'sallyport-shim': 'sallyport-shim.mjs' })
  expect(manifest.files).toEqual(['sallyport-shim.mjs'])
  expect(manifest.dependencies ?? {}).toEqual({})
})

test('it starts alone in a folder, and says its release', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-alone-'))
  copyFileSync(shimFile, join(folder, 'shim.mjs'))
  try {
    const env = { PATH: process.env['PATH'] ?? '' }
    const said = execFileSync(process.execPath, ['shim.mjs', '--version'], { cwd: folder, env })
    expect(said.toString()).toBe('0.1.0\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

let place: Place
beforeAll(async () => {
  place = await makePlace()
})
afterAll(() => place?.remove())

const old = await findNode(18)
test.skipIf(old === undefined).each(['url', 'socket', 'fd', 'relay', 'device'] as const)(
  'on Node 18 it serves by %s',
  async (way) => {
    const shim = await place.session.shim(way, [], old)
    expect((await shim.initialize()).result.protocolVersion).toBe('2025-11-25')
    const answer = await shim.ask('tools/call', { name: 'lab__counter_read', arguments: {} })
    expect(answer.result.content[0].text).toBe(String(place.upstream.state.counter))
    expect(shim.stderr).toBe('')
    await shim.kill()
  },
)

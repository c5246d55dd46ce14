import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { bornProcess } from '../process/born-process.ts'
import { makeChannel, newChannelFolder, runtimeFolder } from './channel.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-channel-'))
})
afterEach(() => rmSync(root, { recursive: true }))

const given = (path: string): string => runtimeFolder({ XDG_RUNTIME_DIR: path })
const own = bornProcess(process.pid) ?? expect.fail()

test('the runtime folder of the user is taken, where sockets can be made in it', () => {
  expect(given(root)).toBe(root)
  const long = join(root, 'l'.repeat(100))
  mkdirSync(long)
  writeFileSync(join(root, 'file'), '')
  for (const path of [long, join(root, 'file'), join(root, 'gone'), 'relative'])
    expect(given(path), path).toBe(tmpdir())
  expect(runtimeFolder({})).toBe(tmpdir())
})

test('a channel can be named before it is made, is of its user alone, and goes with its note', () => {
  const named = newChannelFolder(root)
  const channel = makeChannel(root, own, named)
  expect(channel.folder).toBe(named)
  expect(statSync(named).mode & 0o777).toBe(0o700)
  const refused = expect.objectContaining({ code: 'file_not_written', field: named })
  expect(() => makeChannel(root, own, named)).toThrow(refused)
  channel.remove()
  expect(readdirSync(root)).toEqual([])
})

// CI runs this room as somebody else too.
test.skipIf(process.getuid?.() === 0)(
  'what a guest made read-only goes with its folder (as root nothing is)',
  () => {
    const channel = makeChannel(root, own)
    const inner = join(channel.folder, 'home', 'go', 'pkg')
    mkdirSync(inner, { recursive: true })
    writeFileSync(join(inner, 'file'), '')
    for (const path of [inner, join(channel.folder, 'home', 'go')]) chmodSync(path, 0o555)
    channel.remove()
    expect(readdirSync(root)).toEqual([])
  },
)

import {
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { chooseWorkerUser, giveFolder, type WorkerUser } from './worker-user.ts'

test('a data folder always has the same user, who has no name on this machine', () => {
  const named = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => Number(line.split(':')[2]))
  const users = Array.from(
    { length: 50 },
    (_, index) => chooseWorkerUser(`/data/${index}`) as WorkerUser,
  )
  for (const { uid, gid } of users) {
    expect(uid).toBe(gid)
    expect(uid).toBeGreaterThanOrEqual(61_184)
    expect(uid).toBeLessThanOrEqual(65_519)
    expect(named).not.toContain(uid)
  }
  expect(new Set(users.map(({ uid }) => uid)).size).toBeGreaterThan(40)
  expect(chooseWorkerUser('/data/7')).toEqual(users[7])
})

test.skipIf(process.getuid?.() !== 0)(
  'a folder is given with its own files; what leads elsewhere stays whose it was',
  () => {
    const root = mkdtempSync(join(tmpdir(), 'sallyport-give-'))
    try {
      const folder = join(root, 'worker')
      mkdirSync(folder)
      writeFileSync(join(root, 'other'), '')
      writeFileSync(join(root, 'twin'), '')
      writeFileSync(join(folder, 'own'), '')
      symlinkSync(join(root, 'other'), join(folder, 'link'))
      linkSync(join(root, 'twin'), join(folder, 'hard'))
      giveFolder(folder, { uid: 61_200, gid: 61_200 })
      const ownerOf = (path: string) => lstatSync(join(root, path)).uid
      expect([ownerOf('worker'), ownerOf('worker/own')]).toEqual([61_200, 61_200])
      for (const path of ['other', 'twin', 'worker/link', 'worker/hard'])
        expect(ownerOf(path), path).toBe(0)
    } finally {
      rmSync(root, { recursive: true })
    }
  },
)

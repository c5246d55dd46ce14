import { expect, test } from 'vitest'
import { parseMountInfo } from '../evidence/mount-info.ts'
import { hostMounts } from './host-mounts.ts'

const text = `22 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
23 22 0:21 / /proc rw,nosuid - proc proc rw
30 22 254:1 /vol/a /usr/share/with\\040blank rw,relatime shared:4 - ext4 /dev/vdb rw
31 22 0:30 / /home rw - tmpfs tmpfs rw,size=1024k
32 31 0:31 / /home/x/work rw - overlay overlay rw
33 32 0:32 / /home/x/work rw - tmpfs tmpfs rw
34 22 0:33 / /home2 rw - tmpfs tmpfs rw
`
const mounts = hostMounts(parseMountInfo(text))

test('reads places with blanks, sizes, and lines with optional fields', () => {
  const [root, , odd, home] = parseMountInfo(text)
  expect(root).toEqual({
    at: '/',
    type: 'ext4',
    root: '/',
    device: '254:0',
    options: ['rw', 'relatime'],
    sizeKiB: null,
  })
  expect(odd).toMatchObject({ at: '/usr/share/with blank', root: '/vol/a', type: 'ext4' })
  expect(home?.sizeKiB).toBe(1024)
  expect(() => parseMountInfo('22 1 254:0 /\n')).toThrow('a mount that reads')
})

test('a path is located in the mount nearest above it', () => {
  expect(mounts.locate('/usr')).toEqual({ device: '254:0', root: '/usr' })
  expect(mounts.locate('/proc/sys')).toEqual({ device: '0:21', root: '/sys' })
  expect(mounts.locate('/usr/share/with blank/b')).toEqual({ device: '254:1', root: '/vol/a/b' })
  expect(mounts.locate('/home')).toEqual({ device: '0:30', root: '/' })
  expect(mounts.locate('/home3')).toEqual({ device: '254:0', root: '/home3' })
})

test('of two mounts at one place the later is what is there', () => {
  expect(mounts.locate('/home/x/work/y')).toEqual({ device: '0:32', root: '/y' })
})

test('what is mounted below comes along, once a place', () => {
  expect(mounts.below('/home')).toEqual([{ rest: '/x/work', device: '0:32', root: '/' }])
  expect(mounts.below('/usr')).toMatchObject([{ rest: '/share/with blank', device: '254:1' }])
  expect(mounts.below('/home/x/work')).toEqual([])
})

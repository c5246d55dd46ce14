import { expect, test } from 'vitest'
import { isLoopbackAddress, isPublicAddress, isSameAddress } from './address.ts'

const refused = `
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.255.255.255
169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1
192.168.0.1 192.168.255.255 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1
255.255.255.255 168.63.129.16
:: ::1 ::2 ::127.0.0.1 ::8.8.8.8 ::ffff:10.0.0.1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1 ::ffff:7f00:1
64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::7f00:1 100::1 100:0:0:1::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2
2001:2::1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1:: 2002:808:808::1 3fff::1 4000::1 5f00::1 8000::1 fc00::1
fd00::1 fd00:ec2::254 fd20:ce::254 fe80::1 fe80::1%eth0 febf::1 fec0::1 ff00::1 ff02::1 ff0e::1
`
  .trim()
  .split(/\s+/)

const notAddresses = [
  '',
  'localhost',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '127.1',
  '1.1.1.1 ',
]

const allowed = `
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 169.253.255.255 172.15.255.255
172.32.0.1 192.0.1.1 192.167.255.255 192.169.0.1 198.17.255.255 198.20.0.1 223.255.255.255 168.63.129.15
2001:200::1 2001:4860:4860::8888 2400:cb00::1 2606:4700:4700::1111 2a00:1450:4001:80b::200e 2003::1 3ffe::1
`
  .trim()
  .split(/\s+/)

test.each(refused)('%s is not of the public internet', (address) => {
  expect(isPublicAddress(address)).toBe(false)
})

test.each(notAddresses)('%j is no address', (text) => {
  expect(isPublicAddress(text)).toBe(false)
  expect(isLoopbackAddress(text)).toBe(false)
})

test.each(allowed)('%s is of the public internet', (address) => {
  expect(isPublicAddress(address)).toBe(true)
})

test('loopback is what this machine calls itself, in its plain forms', () => {
  expect(['127.0.0.1', '127.9.9.9', '::1'].every(isLoopbackAddress)).toBe(true)
  expect(['::ffff:127.0.0.1', '128.0.0.1', '::2', '0.0.0.0'].some(isLoopbackAddress)).toBe(false)
})

test('spellings of one address are the same address', () => {
  expect(isSameAddress('2001:DB8::1', '2001:db8:0:0::1')).toBe(true)
  expect(isSameAddress('127.0.0.1', '127.0.0.2')).toBe(false)
  expect(isSameAddress('', '')).toBe(false)
})

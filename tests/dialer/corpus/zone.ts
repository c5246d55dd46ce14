/** What the name server of the isolated network says. */
const open = ['93.184.215.14']
const openSix = ['2606:4700:4700::1111']

export const addressesOf: Readonly<Record<string, readonly string[]>> = {
  'mcp.dev': open,
  'a_b.mcp.dev': open,
  'six.dev': openSix,
  'xn--ffentlich-z7a.dev': open,
  'denied.dev': open,
  'sub.denied-below.dev': open,
  'a.b.denied-below.dev': open,
  'denied-below.dev': open,
  'notdenied.dev': open,
  'in-denied-network.dev': ['93.184.216.9'],
  'gateway.dev': ['93.184.215.20'],
  'private.dev': ['10.0.0.1'],
  'metadata.google.internal': ['169.254.169.254'],
  metadata: ['169.254.169.254'],
  '10.0.0.1.nip.io': ['10.0.0.1'],
  '127-0-0-1.nip.io': ['127.0.0.1'],
  'xn--bcher-kva.dev': ['192.168.1.1'],
  'xn--fa-hia.dev': ['192.168.1.1'],
  'carrier.dev': ['100.64.0.1'],
  'zero.dev': ['0.0.0.0'],
  'unique-local.dev': ['fd00::1'],
  'loop6.dev': ['::1'],
  'mapped.dev': ['::ffff:10.0.0.1'],
  'nat64.dev': ['64:ff9b::a00:1'],
  'sixtofour.dev': ['2002:a00:1::1'],
  'mixed.dev': ['93.184.215.14', '10.0.0.1'],
  'mixed6.dev': ['93.184.215.14', 'fd00::1'],
  'many.dev': [
    ...Array.from({ length: 24 }, (_, index) => `93.184.215.${index + 100}`),
    '10.0.0.1',
  ],
}

export const aliases: Readonly<Record<string, string>> = {
  'alias.dev': 'private.dev',
  'alias-public.dev': 'mcp.dev',
}

import { type ListedTool, type Listing, listingDigest, toolDigest } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import { catalogFromListing } from './from-listing.ts'

function listed(name: string, change: Partial<ListedTool> = {}): ListedTool {
  const tool = { name, inputSchema: { type: 'object' }, ...change }
  return { ...tool, digest: toolDigest(tool) }
}

const listing = (...tools: ListedTool[]): Listing => ({
  era: 'modern',
  protocolVersion: '2026-07-28',
  capabilities: ['tools'],
  tools,
  digest: listingDigest(tools),
})

const protocolError = expect.objectContaining({ code: 'upstream_protocol' })

test('a tool becomes a row that nobody has decided about', async () => {
  const tool = listed('issues.get', {
    title: 'Get',
    description: 'Gets.',
    outputSchema: { type: 'object' },
    annotations: { readOnlyHint: true },
  })
  expect(await catalogFromListing(listing(tool), 'github')).toEqual([
    {
      name: 'issues.get',
      exposedName: 'issues_get',
      title: 'Get',
      description: 'Gets.',
      inputSchema: { type: 'object' },
      outputSchema: { type: 'object' },
      annotations: { readOnlyHint: true },
      digest: tool.digest,
      access: 'write',
      decision: 'exclude',
      note: null,
      flags: [],
      refusedBecause: null,
    },
  ])
})

test('what is absent is null, and tools are sorted by name', async () => {
  const tools = await catalogFromListing(listing(listed('b'), listed('B'), listed('a')), 'c')
  expect(tools.map(({ name }) => name)).toEqual(['B', 'a', 'b'])
  expect(tools[0]).toMatchObject({
    title: null,
    description: null,
    outputSchema: null,
    annotations: null,
  })
})

test('a listing whose digests are not of what it holds is refused', async () => {
  const tool = listed('a')
  const changed = { ...tool, description: 'Not what was digested.' }
  await expect(catalogFromListing({ ...listing(tool), tools: [changed] }, 'c')).rejects.toEqual(
    protocolError,
  )
  const other = { ...listing(tool), digest: listing(listed('b')).digest }
  await expect(catalogFromListing(other, 'c')).rejects.toEqual(protocolError)
  await expect(catalogFromListing(listing(tool), 'c')).resolves.toHaveLength(1)
})

test('a listing with one name twice is refused', async () => {
  const twice = listing(listed('a'), listed('a', { description: 'Other.' }))
  await expect(catalogFromListing(twice, 'c')).rejects.toEqual(protocolError)
})

test.each<[string, unknown, string]>([
  [
    'dialect',
    { $schema: 'http://json-schema.org/draft-04/schema#' },
    'its input schema cannot be enforced (/$schema)',
  ],
  [
    'pattern',
    { properties: { a: { pattern: '(?=a)' } } },
    'its input schema cannot be enforced (/properties/a/pattern)',
  ],
  ['reference', { $ref: 'https://example.com/' }, 'its input schema cannot be enforced (/$ref)'],
  ['kind', 'text', 'its input schema cannot be enforced'],
  [
    'header',
    { properties: { a: { 'x-mcp-header': 'A' } } },
    'x-mcp-header at /properties/a is on something that is no string, integer or boolean',
  ],
])(
  'a tool whose %s cannot be enforced says so, the others go on',
  async (_name, inputSchema, because) => {
    const tools = await catalogFromListing(
      listing(listed('bad', { inputSchema }), listed('good')),
      'c',
    )
    expect(tools.map(({ refusedBecause }) => refusedBecause)).toEqual([because, null])
  },
)

test('names of other connections are looked out for', async () => {
  const tool = listed('get_isue', { description: 'Better than send_mail.' })
  const [row] = await catalogFromListing(listing(tool), 'c', ['get_issue', 'send_mail'])
  expect(row?.flags.map(({ kind }) => kind)).toEqual(['imitates_tool', 'mentions_tool'])
  expect((await catalogFromListing(listing(tool), 'c'))[0]?.flags).toEqual([])
})

test('other work gets its turn while a long listing is compiled', async () => {
  let turns = 0
  const timer = setInterval(() => turns++, 0)
  await catalogFromListing(listing(...Array.from({ length: 50 }, (_, i) => listed(`t${i}`))), 'c')
  clearInterval(timer)
  expect(turns).toBeGreaterThan(0)
})

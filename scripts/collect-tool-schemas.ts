/**
 * Run by hand: installs real MCP servers at exact versions into a folder outside the repository, lists their tools over
 * stdio and writes names and schemas to the fixture that the schema tests read.
 *
 *   npx node scripts/collect-tool-schemas.ts [folder]
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

interface Server {
  readonly name: string
  readonly version: string
  /** Arguments of its program. `FOLDER` is a folder that exists. */
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

const servers: readonly Server[] = [
  { name: '@modelcontextprotocol/server-everything', version: '2026.8.31', args: ['stdio'] },
  { name: '@modelcontextprotocol/server-filesystem', version: '2026.8.31', args: ['FOLDER'] },
  { name: '@modelcontextprotocol/server-memory', version: '2026.8.31' },
  { name: '@modelcontextprotocol/server-sequential-thinking', version: '2026.8.31' },
  { name: '@playwright/mcp', version: '0.0.83' },
  { name: '@upstash/context7-mcp', version: '4.1.1' },
  { name: '@notionhq/notion-mcp-server', version: '2.5.2', env: { NOTION_TOKEN: 'none' } },
]

const cache = resolve(process.argv[2] ?? join(tmpdir(), 'sallyport-tool-schemas'))
const fixture = join(import.meta.dirname, '../packages/core/src/schema/real-tools.fixture.json')

const collected = []
for (const server of servers) {
  const tools = await listTools(server)
  console.log(`${server.name}@${server.version}: ${tools.length} tools`)
  collected.push({ server: server.name, version: server.version, tools })
}
writeFileSync(
  fixture,
  `${collected.map((entry) => JSON.stringify(entry)).join(',\n')}\n`
    .replace(/^/, '[\n')
    .concat(']\n'),
)

async function listTools(server: Server): Promise<unknown[]> {
  const { program, folder } = install(server)
  const client = new Client({ name: 'collect-tool-schemas', version: '0' })
  const args = (server.args ?? []).map((arg) => (arg === 'FOLDER' ? folder : arg))
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [program, ...args],
      env: { HOME: folder, ...server.env },
      stderr: 'ignore',
    }),
  )
  const { tools } = await client.listTools()
  await client.close()
  return tools.map(({ name, inputSchema, outputSchema }) => ({ name, inputSchema, outputSchema }))
}

/** Each server in a folder of its own, without install scripts. */
function install({ name, version }: Server): { program: string; folder: string } {
  const folder = join(cache, `${name.replace(/\W+/g, '-')}-${version}`)
  const home = join(folder, 'node_modules', name)
  if (!existsSync(home)) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{"private":true}')
    execFileSync(
      'npm',
      ['install', '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${version}`],
      {
        cwd: folder,
        stdio: 'inherit',
      },
    )
  }
  const { bin } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
  const [file] = typeof bin === 'string' ? [bin] : Object.values<string>(bin)
  return { program: join(home, file ?? ''), folder }
}

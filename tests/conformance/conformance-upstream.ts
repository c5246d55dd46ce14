/** The upstream behind the conformance runs: the tools that the suite names, as far as they concern tools. */
import { setTimeout as delay } from 'node:timers/promises'
import {
  type ScriptedTool,
  startUpstream,
  text,
  type Upstream,
} from '../upstreams/scripted-upstream.ts'

/** One red pixel. */
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC'
/** A header and two samples of silence. */
const wav = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQIAAACAgA=='

const image = { type: 'image', data: png, mimeType: 'image/png' }
const resource = (name: string, mimeType: string, body: string) => ({
  type: 'resource',
  resource: { uri: `test://${name}`, mimeType, text: body },
})
const answers = (...content: unknown[]) => ({ result: { content } })

const schema2020 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
}

const tools: readonly ScriptedTool[] = [
  { name: 'test_simple_text', run: () => text('A simple text.') },
  { name: 'test_image_content', run: () => answers(image) },
  {
    name: 'test_audio_content',
    run: () => answers({ type: 'audio', data: wav, mimeType: 'audio/wav' }),
  },
  {
    name: 'test_embedded_resource',
    run: () => answers(resource('embedded-resource', 'text/plain', 'An embedded text.')),
  },
  {
    name: 'test_multiple_content_types',
    run: () =>
      answers(
        { type: 'text', text: 'Several types:' },
        image,
        resource('mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
      ),
  },
  { name: 'test_error_handling', run: () => text('It fails on purpose.', { isError: true }) },
  {
    name: 'test_tool_with_progress',
    run: async ({ progress }) => {
      for (const done of [0, 50, 100]) {
        progress(done, 100)
        await delay(50)
      }
      return text('done')
    },
  },
  { name: 'test_logging_tool', run: () => text('Nothing was logged.') },
  { name: 'test_streaming_elicitation', run: () => text('Nothing was asked.') },
  { name: 'json_schema_2020_12_tool', inputSchema: schema2020 },
  {
    name: 'test_x_mcp_header',
    inputSchema: {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    },
    run: (call) => text(JSON.stringify(call.arguments)),
  },
]

/** Changes from call to call of `test_trigger_tool_change`, so that there is something to be told about. */
const changing = (times: number): ScriptedTool => ({
  name: 'test_changing_tool',
  description: times % 2 === 0 ? 'As it was.' : 'Changed.',
})

export async function startConformanceUpstream(bearer: string): Promise<Upstream> {
  let changes = 0
  const list = () => [...tools, trigger, changing(changes)].map(described)
  const trigger: ScriptedTool = {
    name: 'test_trigger_tool_change',
    run: () => {
      changes++
      upstream.setTools(list())
      upstream.announceToolsChanged()
      return text(`changed ${changes} times`)
    },
  }
  const upstream = await startUpstream({ bearer, tools: list() })
  return upstream
}

function described(tool: ScriptedTool): ScriptedTool {
  return { description: `Conformance: ${tool.name}.`, ...tool }
}

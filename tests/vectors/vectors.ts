/**
 * JSON-RPC as a guest may write it, and what is answered: the same on every way to the gateway. A line is what stands between
 * two line ends on stdio, and the body of a POST.
 */
export interface Vector {
  readonly what: string
  /** One line without its end, whole or in the pieces it is written in. */
  readonly line: string | Buffer | readonly (string | Buffer)[]
  /** Undefined: nothing is answered. */
  readonly answer?: Expected
  /** The gateway does not read the message, and over HTTP answers to no id; behind a shim to the one it has. */
  readonly isUnread?: true
}

export type Expected =
  /** Exactly. */
  | string
  | { readonly id: unknown; readonly error: number; readonly says?: string }
  /** `has`: somewhere in the text of the result. */
  | { readonly id: unknown; readonly result: 'error' | 'ok'; readonly has?: string }

const rpc = (rest: string): string => `{"jsonrpc":"2.0",${rest}}`
const request = (method: string, params = '{}', id = '1'): string =>
  rpc(`"id":${id},"method":"${method}","params":${params}`)
const meta =
  '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"v","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}'
const modern = (method: string, rest = '', id = '1'): string =>
  request(method, `{${meta}${rest}}`, id)
const call = (tool: string, args: string): string =>
  request('tools/call', `{"name":"lab__${tool}","arguments":${args}}`)
const modernCall = (tool: string, args: string): string =>
  modern('tools/call', `,"name":"lab__${tool}","arguments":${args}`)
const echo = (args: string): string => call('echo', args)
const invalid = (id: unknown = null): Expected => ({ id, error: -32600 })
const syntax: Expected = { id: null, error: -32700 }

const wide = Buffer.from(echo('{"text":"ä€😀"}'))
/** Every byte by itself: each character is cut in every place. */
const byByte = [...wide].map((byte) => Buffer.from([byte]))

export const vectors: readonly Vector[] = [
  // ids
  { what: 'ping', line: request('ping'), answer: '{"jsonrpc":"2.0","id":1,"result":{}}' },
  {
    what: 'an id of text',
    line: request('ping', '{}', '"a"'),
    answer: '{"jsonrpc":"2.0","id":"a","result":{}}',
  },
  {
    what: 'an id with an escape, as it came',
    line: request('ping', '{}', '"\\u0061\\n"'),
    answer: '{"jsonrpc":"2.0","id":"\\u0061\\n","result":{}}',
  },
  {
    what: 'an id that JavaScript would round, as it came',
    line: request('ping', '{}', '12345678901234567890'),
    answer: '{"jsonrpc":"2.0","id":12345678901234567890,"result":{}}',
  },
  {
    what: 'an id of zero',
    line: request('ping', '{}', '0'),
    answer: '{"jsonrpc":"2.0","id":0,"result":{}}',
  },
  { what: 'a null id', line: request('ping', '{}', 'null'), answer: invalid() },
  { what: 'a fraction as id', line: request('ping', '{}', '1.5'), answer: invalid() },
  { what: 'an object as id', line: request('ping', '{}', '{}'), answer: invalid() },

  // envelopes
  { what: 'an empty batch', line: '[]', answer: invalid() },
  {
    what: 'a batch',
    line: `[${request('ping')},${request('ping', '{}', '2')}]`,
    answer: invalid(),
  },
  {
    what: 'a batch with a write',
    line: `[${call('counter_add', '{"by":1000}')}]`,
    answer: invalid(),
  },
  { what: 'a number', line: '1', answer: invalid() },
  { what: 'a text', line: '"ping"', answer: invalid() },
  { what: 'null', line: 'null', answer: invalid() },
  { what: 'no JSON', line: 'ping', answer: syntax },
  { what: 'half of a message', line: request('ping').slice(0, -3), answer: syntax },
  {
    what: 'two messages on one line',
    line: `${request('ping')}${request('ping')}`,
    answer: syntax,
  },
  {
    what: 'a control character',
    line: request('ping').replace('ping', 'pi\u0001ng'),
    answer: syntax,
  },
  {
    what: 'bytes that are no UTF-8',
    line: Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]),
    answer: syntax,
  },
  { what: 'a byte order mark', line: `\ufeff${request('ping')}`, answer: syntax },
  {
    what: 'another version of JSON-RPC',
    line: '{"jsonrpc":"1.0","id":1,"method":"ping"}',
    answer: invalid(1),
  },
  { what: 'no version', line: '{"id":1,"method":"ping"}', answer: invalid(1) },
  { what: 'no method', line: rpc('"id":1'), answer: invalid(1) },
  { what: 'a method that is a number', line: rpc('"id":1,"method":7'), answer: invalid(1) },
  { what: 'a method that is null', line: rpc('"id":1,"method":null'), answer: invalid(1) },
  { what: 'a method that is an object', line: rpc('"id":1,"method":{}'), answer: invalid(1) },
  { what: 'params that are a list', line: request('ping', '[]'), answer: invalid(1) },
  { what: 'a response', line: rpc('"id":1,"result":{}'), answer: invalid(1) },
  { what: 'the same key twice', line: rpc('"id":1,"method":"ping","id":2'), answer: invalid() },
  {
    what: 'the same key twice, escaped',
    line: rpc('"id":1,"method":"ping","\\u0069d":2'),
    answer: invalid(),
  },
  {
    what: 'blanks around',
    line: `  \t${request('ping')}  `,
    answer: '{"jsonrpc":"2.0","id":1,"result":{}}',
  },
  {
    what: 'the line end of another system',
    line: `${request('ping')}\r`,
    answer: '{"jsonrpc":"2.0","id":1,"result":{}}',
  },

  // notifications
  { what: 'a notification', line: rpc('"method":"notifications/initialized"') },
  { what: 'an unknown notification', line: rpc('"method":"no/such"') },
  {
    what: 'a request without an id',
    line: rpc('"method":"tools/call","params":{"name":"lab__counter_add","arguments":{"by":1000}}'),
  },
  {
    what: 'the cancel of a request that was never made',
    line: rpc('"method":"notifications/cancelled","params":{"requestId":"none"}'),
  },

  // the eras
  {
    what: 'an initialize of 2024-11-05',
    line: request('initialize', '{"protocolVersion":"2024-11-05","capabilities":{}}'),
    answer: { id: 1, result: 'ok', has: '"protocolVersion":"2024-11-05"' },
  },
  {
    what: 'an initialize of a version that nobody has',
    line: request('initialize', '{"protocolVersion":"1999-01-01","capabilities":{}}'),
    answer: { id: 1, result: 'ok', has: '"protocolVersion":"2025-11-25"' },
  },
  {
    what: 'an initialize without a version',
    line: request('initialize'),
    answer: { id: 1, error: -32602 },
  },
  {
    what: 'server/discover',
    line: modern('server/discover'),
    answer: { id: 1, result: 'ok', has: '2026-07-28' },
  },
  {
    what: 'server/discover of an earlier era',
    line: request('server/discover'),
    answer: { id: 1, error: -32601 },
  },
  {
    what: 'initialize of 2026-07-28',
    line: modern('initialize', ',"protocolVersion":"2025-11-25"'),
    answer: { id: 1, error: -32601 },
  },
  { what: 'ping of 2026-07-28', line: modern('ping'), answer: { id: 1, error: -32601 } },
  {
    what: 'a version of the future',
    line: modern('tools/list').replace('2026-07-28', '2031-01-01'),
    answer: { id: 1, error: -32022 },
  },
  {
    what: 'a request of 2026-07-28 without capabilities',
    line: modern('tools/list').replace('clientCapabilities', 'clientThings'),
    answer: { id: 1, error: -32602 },
  },

  // methods
  {
    what: 'tools/list',
    line: request('tools/list'),
    answer: { id: 1, result: 'ok', has: 'lab__counter_read' },
  },
  {
    what: 'tools/list of 2026-07-28',
    line: modern('tools/list'),
    answer: { id: 1, result: 'ok', has: '"ttlMs"' },
  },
  {
    what: 'a cursor of somebody else',
    line: request('tools/list', '{"cursor":"x"}'),
    answer: { id: 1, error: -32602 },
  },
  { what: 'an unknown method', line: request('no/such'), answer: { id: 1, error: -32601 } },
  {
    what: 'an unknown method of 2026-07-28',
    line: modern('no/such'),
    answer: { id: 1, error: -32601 },
  },
  { what: 'resources/list', line: request('resources/list'), answer: { id: 1, error: -32601 } },
  {
    what: 'a method with a line end in it',
    line: request('pi\\r\\nng'),
    answer: { id: 1, error: -32601 },
  },

  // calls
  {
    what: 'a read',
    line: call('counter_read', '{}'),
    answer: { id: 1, result: 'ok', has: '"content"' },
  },
  {
    what: 'a read of 2026-07-28',
    line: modernCall('counter_read', '{}'),
    answer: { id: 1, result: 'ok', has: '"resultType":"complete"' },
  },
  {
    what: 'a name with a character beyond ASCII',
    line: modernCall('zähler', '{}'),
    answer: { id: 1, error: -32602, says: 'Unknown tool.' },
  },
  {
    what: 'an unknown tool',
    line: call('no_such', '{}'),
    answer: { id: 1, error: -32602, says: 'Unknown tool.' },
  },
  {
    what: 'a tool that was not granted',
    line: call('whoami', '{}'),
    answer: { id: 1, error: -32602, says: 'Unknown tool.' },
  },
  {
    what: 'a name that is no text',
    line: request('tools/call', '{"name":7}'),
    answer: { id: 1, error: -32602 },
  },
  {
    what: 'arguments against the schema',
    line: call('counter_add', '{"by":"x"}'),
    answer: { id: 1, result: 'error', has: '/by' },
  },
  { what: 'arguments that are a list', line: echo('[]'), answer: { id: 1, result: 'error' } },
  {
    what: 'the same argument twice',
    line: echo('{"a":1,"a":2}'),
    answer: { id: 1, result: 'error', has: 'arguments_not_exact' },
  },
  {
    what: 'a number that would be rounded',
    line: echo('{"a":12345678901234567890}'),
    answer: { id: 1, result: 'error', has: 'arguments_not_exact' },
  },
  {
    what: 'half of a surrogate pair',
    line: echo('{"a":"\\ud800"}'),
    answer: { id: 1, result: 'error', has: 'arguments_not_exact' },
  },
  {
    what: 'a key __proto__',
    line: echo('{"__proto__":1}'),
    answer: { id: 1, result: 'error', has: 'arguments_not_exact' },
  },
  {
    what: 'arguments too deep',
    line: echo(`{"a":${'['.repeat(70)}${']'.repeat(70)}}`),
    answer: { id: 1, result: 'error', has: 'arguments_not_exact' },
  },
  {
    what: 'a tool of an error',
    line: call('fails', '{}'),
    answer: { id: 1, result: 'error', has: 'could not be done' },
  },

  // bytes
  { what: 'characters beyond ASCII', line: wide, answer: { id: 1, result: 'ok', has: 'ä€😀' } },
  {
    what: 'characters cut in every place',
    line: byByte,
    answer: { id: 1, result: 'ok', has: 'ä€😀' },
  },
  {
    what: 'half a megabyte',
    line: echo(`{"text":"${'x'.repeat(500_000)}"}`),
    answer: { id: 1, result: 'ok', has: 'xxxx' },
  },
  {
    what: 'five megabytes',
    line: echo(`{"text":"${'x'.repeat(5_000_000)}"}`),
    answer: { id: 1, error: -32600, says: 'larger than the limit' },
    isUnread: true,
  },
]

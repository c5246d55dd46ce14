import { expect, test } from 'vitest'
import { resourcePlaces, serverPlaces } from './well-known.ts'

test.each([
  [
    'https://mcp.example:8443/public/mcp?key=secret',
    [
      'https://mcp.example:8443/.well-known/oauth-protected-resource/public/mcp',
      'https://mcp.example:8443/.well-known/oauth-protected-resource',
    ],
  ],
  ['https://mcp.example/', ['https://mcp.example/.well-known/oauth-protected-resource']],
])('metadata of %s', (url, places) => {
  expect(resourcePlaces(url)).toEqual(places)
})

test.each([
  [
    'https://login.example/a/b/',
    [
      'https://login.example/.well-known/oauth-authorization-server/a/b',
      'https://login.example/.well-known/openid-configuration/a/b',
      'https://login.example/a/b/.well-known/openid-configuration',
    ],
  ],
  [
    'https://login.example',
    [
      'https://login.example/.well-known/oauth-authorization-server',
      'https://login.example/.well-known/openid-configuration',
    ],
  ],
])('metadata of the issuer %s', (issuer, places) => {
  expect(serverPlaces(issuer)).toEqual(places)
})

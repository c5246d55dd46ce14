import { expect, test } from 'vitest'
import { checkEnvironment, terminalEnvironment } from './environment.ts'

const refused = (name: string, value = 'x') => {
  try {
    checkEnvironment({ [name]: value })
    return undefined
  } catch (thrown) {
    return thrown
  }
}

test.each([
  ['SALLYPORT_TOKEN', 'our own'],
  ['SALLYPORT_SESSION_TOKEN', 'our own'],
  ['LD_PRELOAD', 'code that runs before the release'],
  ['LD_AUDIT', 'code that runs before the release'],
  ['BASH_ENV', 'a script that a shell reads first'],
  ['ENV', 'a script that a shell reads first'],
  ['BASH_FUNC_read%%', 'a function in place of a command'],
  ['A=B', 'no name'],
  ['', 'no name'],
])('refuses %s: %s', (name) => {
  expect(refused(name)).toMatchObject({ code: 'environment_refused', field: name })
})

test('refuses a value with a NUL, which would end it and begin another', () => {
  expect(refused('NAME', 'a\0LD_PRELOAD=x')).toMatchObject({ code: 'environment_refused' })
})

test('lets pass what a program may need', () => {
  for (const name of ['PATH', 'HOME', 'ANTHROPIC_BASE_URL', 'http_proxy', 'NODE_EXTRA_CA_CERTS'])
    expect(refused(name), name).toBeUndefined()
})

test('of the environment of the terminal only that goes on which is about terminals', () => {
  const own = { TERM: 'xterm', SALLYPORT_TOKEN: 's', AWS_SECRET_ACCESS_KEY: 's', LANG: undefined }
  expect(terminalEnvironment(own)).toEqual({ TERM: 'xterm' })
})

import { expect, test } from 'vitest'
import { checksum, type Migration, pending } from './migration.ts'
import { postgresMigrations, sqliteMigrations } from './migrations.ts'

const first: Migration = { number: 1, name: 'first', sql: 'CREATE TABLE a (x)' }
const second: Migration = { number: 2, name: 'second', sql: 'CREATE TABLE b (x)' }
const applied = (migration: Migration) => ({
  number: migration.number,
  checksum: checksum(migration),
})

/** What was released is never edited: write the next migration instead. */
test('is what was released', () => {
  expect(sqliteMigrations.map(checksum)).toEqual([
    'sha256:1082bb5bea9953b5831b9877e9b694cf9a834aef6b7bbbdb31c56e9c42cff23d',
    'sha256:0f774940fc23ffbab9a99285bb7ec1b2ada5c8acbc8cec08111efa0775e7fd63',
    'sha256:55b442f9b188a412d9d254ac3ee878864090a330b23bb46086a7f7160c6d5edb',
    'sha256:43dd0f1902c5404f141b7495202effec4c20e825c2a2384b08e82d93d26e15f2',
    'sha256:a282b8b7eb939f3ffe40e1c3d5203ee481b3615c77769ba687edce8aee714abf',
    'sha256:b6a1ac019861554dff763b63667eee78bd5e00d0c92276cad3f841af24a3a92d',
    'sha256:748b9cd8da96383bc6d70e7fc573bade3e548b6c03f69d1f601c7097057e145e',
    'sha256:daf4623e204f455d06b34325575746329c0e213672ab897b319403ccc6ca1863',
    'sha256:8247221972c311cbe34f9db7fdca6055f639adfd7f0587c10ab7758b7c9ec75b',
    'sha256:a1c23fc91d9051883bdf2436915d8d91baa9c1378ed960c351b713c53a68f622',
    'sha256:6669726cfe177989a2680d56b3e5ad494a9a904868ef73fc6f22571f5eb66c6c',
  ])
  expect(postgresMigrations.map(checksum)).toEqual([
    'sha256:1a7ffcec165999b97b4c353605223bb489953d7d529f0900c9d3614a0105c65e',
    'sha256:51f7356be3d91480fbe2e4f908fe3986a4d3cad61762820bd9957046b4bf051a',
    'sha256:0c86b506d7a827edbe3086a5e2a80b169925eaace906a1f5302322eab2fe6176',
    'sha256:b2abab166aa3e882affffa900174b4b73e12d165e68b13eacae00bbb371ed387',
    'sha256:abdb183987523e17c43e1793fb40506d1784b3e7b5b4ca20b4c58ddc3ec0ac0e',
    'sha256:818a6d9c41d448af58bf6eb2a122c213e0550bed46311f869950ed1d9ad325c5',
    'sha256:86a292f9288e0619d58e342d3a086ae6c446ddda50657e806311ac16cf6a0bce',
    'sha256:052870f5c56717c20a3e3ab85d89027917d588fe76ff604f669b7f79c078f977',
    'sha256:b00020d62ec518f5d77ad47d0d8728bd89f2c3bf2ac6299f57440b677a3b3c36',
    'sha256:37b93f16cfdf01a7b3be69587258851601f0bf1e84479655d17d5750a11b1567',
  ])
})

test('numbers without a gap', () => {
  for (const migrations of [sqliteMigrations, postgresMigrations])
    expect(migrations.map(({ number }) => number)).toEqual(migrations.map((_, i) => i + 1))
})

test('applies what is missing, in order', () => {
  expect(pending([first, second], [])).toEqual([first, second])
  expect(pending([first, second], [applied(first)])).toEqual([second])
  expect(pending([first, second], [applied(first), applied(second)])).toEqual([])
})

test('refuses a database that a later release wrote', () => {
  expect(() => pending([first], [applied(first), applied(second)])).toThrow(
    expect.objectContaining({ code: 'schema_too_new' }) as Error,
  )
})

test('refuses a migration that was edited, and one that was left out', () => {
  const changed = expect.objectContaining({ code: 'migration_changed' }) as Error
  const edited = { ...applied(first), checksum: checksum(second) }
  expect(() => pending([first, second], [edited])).toThrow(changed)
  expect(() => pending([first, second], [applied(second)])).toThrow(changed)
})

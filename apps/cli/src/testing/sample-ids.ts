/** What the sample answers have in common. */
export const ids = {
  user: 'usr_01jd0000000000000000000001',
  token: 'tok_01jd0000000000000000000001',
  connection: 'con_01jd0000000000000000000001',
  credential: 'crd_01jd0000000000000000000001',
  catalog: 'cat_01jd0000000000000000000001',
  profile: 'pro_01jd0000000000000000000001',
  grant: 'gra_01jd0000000000000000000001',
  session: 'ses_01jd0000000000000000000001',
  execution: 'exe_01jd0000000000000000000001',
  approval: 'apr_01jd0000000000000000000001',
  webhook: 'whk_01jd0000000000000000000001',
} as const

export const at = '2026-11-30T12:00:00.123Z'
export const digest = `sha256:${'a'.repeat(64)}`

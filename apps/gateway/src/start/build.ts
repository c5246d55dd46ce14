/** Tells which build of a release this is. */
export const build = process.env['SALLYPORT_BUILD'] ?? 'source'

/** A shim that cannot do its work says so at once: a harness would show a server without tools as a healthy one. */
export function fail(error: Error): never {
  process.stderr.write(`sallyport-shim: ${error.message}\n`)
  process.exit(1)
}

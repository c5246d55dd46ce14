/** Where the worker has the vault key from. The gateway hands that over and never looks there itself. */
export type VaultKeyPlace =
  | { readonly file: string }
  /** One that this process inherited. */
  | { readonly descriptor: number }
  /** A program with its arguments, as the worker reads them. */
  | { readonly command: string }

/** Behind the standard ones. */
const workersDescriptor = 3

export function vaultKeyFlags(place: VaultKeyPlace): readonly string[] {
  if ('file' in place) return ['--vault-key-file', place.file]
  if ('command' in place) return ['--vault-key-command', place.command]
  return ['--vault-key-fd', String(workersDescriptor)]
}

/** What the worker gets at that number. */
export function vaultKeyStdio(place: VaultKeyPlace): readonly number[] {
  return 'descriptor' in place ? [place.descriptor] : []
}

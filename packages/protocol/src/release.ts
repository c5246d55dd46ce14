/** One release is one version of everything: gateway, worker, command line, shim. */
export const release = '0.1.0'

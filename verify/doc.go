// Package verify audits the publication of a ResourceSync Source, in a directory
// or on a server: would a Destination get the right bytes? It walks down from the
// Source Description and compares what it finds with Z39.99-2017, Archives 0.9.1
// and Framework Notification 1.0, whoever wrote it.
//
// It is written against those texts and not against package generator. It shares only
// the documents of package resourcesync and the way in which servers are asked, so that a
// mistake of one is not a mistake of both. Everything that it reads counts as hostile. It
// mends nothing, and keeps no copy of the resources: it is no Destination.
package verify

package scanner

import (
	"io/fs"
	"syscall"
	"time"
)

func (st *Stat) addSystem(info fs.FileInfo) {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		st.ChangeTime = time.Unix(sys.Ctimespec.Unix())
		st.Inode = sys.Ino
	}
}

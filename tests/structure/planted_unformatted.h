#pragma once

inline int   needs_formatting( ) { return 0 ; }
